-- One row of the SQL table as cells of family `user`, equal to weibo_crawler/store/rows/cells.py:
-- all values text, times in UTC cut to the millisecond. The key is that of store/rows/keys.py:
-- two hexadecimal digits of CRC32(uid as text) & 255, "-", uid, in which %2D stands for "-".
-- The whole seconds and the rest are taken apart first, as Python does: seconds times a million
-- in one DOUBLE would be rounded once more. A name or a number of fans that nobody knows is NULL,
-- and so no cell; nothing else is NULL.
SELECT
    CONCAT(LOWER(LPAD(HEX(CRC32(id) & 255), 2, '0')), '-', REPLACE(id, '-', '%2D')) AS row_key,
    CAST(id AS CHAR) AS id,
    url,
    screen_name,
    CAST(fans AS CHAR) AS fans,
    CAST(depth AS CHAR) AS depth,
    COALESCE(CAST(found_from AS CHAR), '') AS found_from,
    found_edge,
    CONCAT(
        LEFT(
            DATE_FORMAT(
                TIMESTAMP('1970-01-01')
                    + INTERVAL FLOOR(found_at) SECOND
                    + INTERVAL ROUND((found_at - FLOOR(found_at)) * 1000000) MICROSECOND,
                '%Y-%m-%dT%H:%i:%s.%f'
            ),
            23
        ),
        'Z'
    ) AS found_at,
    CAST(seq AS CHAR) AS seq,
    '{schema_version}' AS schema_version,
    '{run_id}' AS run_id
FROM userlist
WHERE {rows} AND $CONDITIONS
