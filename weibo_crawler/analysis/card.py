"""The data card of a dataset: Croissant 1.1, and the same for people. Pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_type_hints

from weibo_crawler.analysis.ledgers import completeness_lines
from weibo_crawler.analysis.numbers import grouped
from weibo_crawler.store.rows.fields import Field, Kind

if TYPE_CHECKING:
    from weibo_crawler.analysis.dataset import Summary

_TABLES = {
    "users": "one row a user: as the lists showed the user, and the profile at the last visit",
    "posts": "one row a post of a user's own timeline",
    "comments": "one row a comment, of the first pages of the comments of a post",
    "reposts": "one row a repost, of the first pages of those who passed a post on",
    "edges": "one row for each time that a user was seen in somebody's list",
    "ledgers": "one row a user: how complete the user's posts are, and why the rest is missing",
}
_ABOUT = (
    "Public posts of {} and who wrote them, as guests are shown them, gathered by weibo-crawler. "
    "It never holds everything: completeness.json and the table `ledgers` say what was not seen "
    "and why."
)
_TYPES = {
    Kind.NUMBER: "sc:Integer",
    Kind.SHARE: "sc:Float",
    Kind.TRUTH: "sc:Boolean",
    Kind.TIME: "sc:DateTime",
    Kind.SITE_TIME: "sc:DateTime",
}
_PLAIN = {str: "sc:Text", int: "sc:Integer", float: "sc:Float", bool: "sc:Boolean"}
# what Croissant calls as its vocabulary does, beside `data`, `dataType` and `examples`
_TERMS = """
    citeAs column containedIn equivalentProperty extract field fileProperty fileObject fileSet
    format includes isArray arrayShape isLiveDataset jsonPath key md5 parentField path recordSet
    references regex repeated replace samplingRate separator source subField transform
"""
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}


class Source(NamedTuple):
    """Where the rows are from. name: of the site in the settings; title: for people; url: where it
    is."""

    name: str
    title: str
    url: str


def card(
    tables: Mapping[str, Mapping[str, Field]],
    made_at: str,
    files: Mapping[str, str],
    source: Source,
) -> dict[str, Any]:
    """The card as JSON-LD. tables: the fields of each; files: SHA-256 by relative name."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": source.name,
        "description": _ABOUT.format(source.title),
        "version": "1.0.0",
        "datePublished": made_at,
        "url": f"{source.url}/",
        "license": "the rights of the authors of the posts; see the terms of the site",
        "creator": {"@type": "Organization", "name": "weibo-crawler"},
        "citeAs": f"weibo-crawler, {made_at[:10]}",
        "distribution": [_file(name, digest) for name, digest in files.items()]
        + [_file_set(name) for name in tables],
        "recordSet": [_record_set(name, fields) for name, fields in tables.items()],
    }


def read_me(summary: "Summary", tables: Mapping[str, Mapping[str, Field]], source: Source) -> str:
    """README.md: what is in the folder, what is not, and every column."""
    about = _ABOUT.format(source.title)
    parts = [
        f"# {source.title}, as of {summary.made_at[:10]}\n\n{about}\n",
        "`weibo-crawler verify FOLDER`, or `sha256sum -c SHA256SUMS` in it, finds any change.\n",
        "## Tables\n\n| table | rows | what |\n|---|---|---|\n"
        + "".join(
            f"| `{name}/` | {grouped(figures.rows)} | {_TABLES[name]} |\n"
            for name, figures in summary.tables.items()
        ),
        "## What was seen of what was announced\n\n"
        + "".join(f"    {line}\n" for line in completeness_lines(summary.completeness)),
    ]
    for name, fields in tables.items():
        rows = (f"| `{c}` | {f.kind.value} | {f.about} |\n" for c, f in fields.items())
        parts.append(
            f"## Columns of {name}\n\n| column | holds | what |\n|---|---|---|\n" + "".join(rows)
        )
    return "\n".join(parts)


def _file(name: str, digest: str) -> dict[str, Any]:
    formats = {
        "parquet": "application/x-parquet",
        "json": "application/json",
        "md": "text/markdown",
        "sql": "application/sql",
    }
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": formats[name.rpartition(".")[2]],
        "sha256": digest,
    }


def _file_set(name: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{name}-files",
        "name": f"{name}-files",
        "encodingFormat": "application/x-parquet",
        "includes": [f"{name}/*.parquet", f"{name}/*/*.parquet"],
    }


def _record_set(name: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": _TABLES[name],
        "field": [
            _field(name, column, field)
            for column, field in fields.items()
            if field.kind is not Kind.WORDS  # a map has no type in Croissant
        ],
    }


def _field(table: str, column: str, field: Field) -> dict[str, Any]:
    made = _described(f"{table}/{column}", field.about)
    if field.kind in (Kind.TEXTS, Kind.RECORDS):
        made |= {"isArray": True, "arrayShape": "-1"}
    if field.record is not None:
        return made | {"subField": _sub_fields(table, column, (), field.record)}
    return made | {
        "dataType": _TYPES.get(field.kind, "sc:Text"),
        "source": {"fileSet": {"@id": f"{table}-files"}, "extract": {"column": column}},
    }


def _sub_fields(
    table: str, column: str, path: tuple[str, ...], record: type
) -> list[dict[str, Any]]:
    """What an object holds; objects inside it as well, under their paths."""
    fields = []
    for name, hint in get_type_hints(record).items():
        types = [one for one in get_args(hint) or (hint,) if one is not type(None)]
        way = (*path, name)
        if types[0] not in _PLAIN:
            fields += _sub_fields(table, column, way, types[0])
            continue
        source: dict[str, Any] = {"fileSet": {"@id": f"{table}-files"}}
        source |= {"extract": {"column": column}, "transform": {"jsonPath": ".".join(way)}}
        made = _described("/".join((table, column, *way)), ".".join(way))
        fields.append(made | {"dataType": _PLAIN[types[0]], "source": source})
    return fields


def _described(id: str, about: str) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": id, "name": id, "description": about}
