-- SPDX-License-Identifier: BSD-2-Clause
-- A bulk insert, an index and a sort.
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
	insert into t select i, 'row ' || (i * 7919 % 60000), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(length(b)), max(c) from t where b like 'row 1%';
select substr(b, 1, 6), count(*) from t group by 1 order by 2 desc, 1 limit 3;
