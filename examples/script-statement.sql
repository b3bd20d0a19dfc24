-- What an account's owner sees.
\set id random_zipfian(1, :accounts, 1.05)
-- name: balance
select owner, balance from account where id = :id;
-- name: last bookings
select id, amount, booked_at from booking
 where account_id = :id
 order by id desc
 limit 20;
