drop table if exists booking;
drop table if exists account;
