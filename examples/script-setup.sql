-- Accounts and what is booked on them.
create table account (
    id      bigint primary key,
    owner   text not null,
    balance bigint not null
);
create table booking (
    id         bigserial primary key,
    account_id bigint not null,
    amount     bigint not null,
    booked_at  timestamptz not null default now()
);
insert into account (id, owner, balance)
select n, 'owner ' || n, 0 from generate_series(1, :accounts) n;
create index booking_account on booking (account_id, id);
analyze account;
