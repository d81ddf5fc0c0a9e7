-- Roots and logarithms of numbers with more than a hundred thousand digits.
-- PostgreSQL 15 differs: it gives the powers of ten more places after the point.

select length(s::text), left(s::text, 30), right(s::text, 30) from (select sqrt(10::numeric ^ 131001) s) x;
select length(s::text), left(s::text, 30), right(s::text, 30) from (select sqrt(2 * 10::numeric ^ 131000) s) x;
select sqrt(10::numeric ^ 131000) = 10::numeric ^ 65500, sqrt(10::numeric ^ 131000 - 1) < 10::numeric ^ 65500;
select trunc(sqrt((10::numeric ^ 20000 + 7) ^ 2)) - (10::numeric ^ 20000 + 7), trunc(sqrt((10::numeric ^ 20000 + 7) ^ 2 - 1)) - (10::numeric ^ 20000 + 7);
select n, trunc(sqrt(n * n)) - n, trunc(sqrt(n * n - 1)) - n, trunc(sqrt(n * n + 2 * n)) - n
    from (values (9999999999999999999999999999::numeric), (10000000000000000000000000001), (123456789012345678901234567890123456789), (99999999999999999999999999999999999999999999999999999999999999999999)) v(n);
select sqrt(2::numeric(300, 280)), sqrt(0.0000000000000000000000000000000000000000000000000000000000000000000000001234567890123456789);
select ln(10::numeric ^ 131000), ln(9.99e131000), ln(1.5e100000), ln(1e-1000), ln(2::numeric ^ 400000);
select ln(10::numeric ^ 131000 + 0.00000000000000000000000000000000000000000000000000000000000000000001);
select log(10::numeric ^ 131000), log(2, 2::numeric ^ 400000), ln(123456789.123456789123456789123456789123456789);
