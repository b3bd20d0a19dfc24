-- Some accounts are used far more often than others. The one with the lower number comes first, so
-- that two transfers never wait for each other.
\set one random_zipfian(1, :accounts, 1.05)
\set two random(1, :accounts)
\set from min(:one, :two)
\set to max(:one, :two)
\set amount random_exponential(1, 100000, 4)
begin;
-- name: take
update account set balance = balance - :amount where id = :from;
-- name: give
update account set balance = balance + :amount where id = :to;
-- name: book
insert into booking (account_id, amount) values (:from, -:amount), (:to, :amount);
commit;
