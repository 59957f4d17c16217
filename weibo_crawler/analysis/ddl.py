"""tables.sql of a dataset: its tables for Hive and for Spark SQL. Pure."""

from collections.abc import Mapping
from typing import Any

from weibo_crawler.analysis.batches import Batches
from weibo_crawler.store.rows.fields import Field

_HEAD = """\
-- The tables of this folder for Spark SQL, and for Hive 4 (older ones read other timestamps):
--   spark-sql --hivevar dataset=hdfs:///data/weibo -f tables.sql
-- dataset: the address of the folder. Made by weibo-crawler.
"""
_SIMPLE = {"string": "STRING", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}


def ddl(arrow: Any, tables: Mapping[str, Mapping[str, Field]], by: str | None) -> str:
    """The statements. tables: the fields of each; by: the key of the folders of posts."""
    return _HEAD + "".join(
        _table(arrow, name, fields, by if name == "posts" else None)
        for name, fields in tables.items()
    )


def _table(arrow: Any, name: str, fields: Mapping[str, Field], by: str | None) -> str:
    columns = [
        f"  `{one.name}` {_sql(arrow, one.type)} COMMENT '{_quoted(fields[one.name].about)}'"
        for one in Batches(arrow, fields).schema
    ]
    cut = f" PARTITIONED BY (`{by}` STRING)" if by else ""
    made = f"CREATE EXTERNAL TABLE IF NOT EXISTS {name} (\n" + ",\n".join(columns) + f"\n){cut}"
    found = f"MSCK REPAIR TABLE {name};\n" if by else ""
    return f"\n{made} STORED AS PARQUET LOCATION '${{hivevar:dataset}}/{name}';\n{found}"


def _sql(arrow: Any, type: Any) -> str:
    """The type of Hive for one of Arrow."""
    if str(type) in _SIMPLE:
        return _SIMPLE[str(type)]
    if arrow.types.is_timestamp(type):
        return "TIMESTAMP"
    if arrow.types.is_list(type):
        return f"ARRAY<{_sql(arrow, type.value_type)}>"
    if arrow.types.is_map(type):
        return f"MAP<{_sql(arrow, type.key_type)}, {_sql(arrow, type.item_type)}>"
    return "STRUCT<" + ", ".join(f"`{one.name}`: {_sql(arrow, one.type)}" for one in type) + ">"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'").replace(";", ",")
