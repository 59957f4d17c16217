"""The errors of HBase's Thrift server: what no repetition will mend, and all in plain words."""

import re
import ssl

import happybase  # noqa: F401 - makes the module Hbase_thrift
from Hbase_thrift import IllegalArgument, IOError
from thriftpy2.protocol.cybin import ProtocolError  # type: ignore[attr-defined]
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TApplicationException, TException
from thriftpy2.transport import TTransportException

# what a call may raise: the server's own errors, broken answers, broken connections
FAILED = (TException, ProtocolError, OSError, EOFError)

# Java's exceptions -> the remedy. The rest (regions that move, servers that restart, queues that
# are full) is worth another try
_HOPELESS = {
    "TableNotFoundException": "",  # see `missing`
    "NamespaceNotFoundException": "",
    "NoSuchColumnFamilyException": "`weibo-crawler init` says which families the table lacks",
    "AccessDeniedException": "grant the account of the Thrift server RW on the tables",
    "RowTooBigException": "raise hbase.table.max.rowsize of the region servers",
    "IllegalArgumentException": "",
    "FailedSanityCheckException": "",
}
_MISSING = ("TableNotFoundException", "NamespaceNotFoundException")
_NOT_HBASE = (
    "it does not speak as HBase's Thrift1 server does: check store.tables; where the server was "
    "started with -f or -c, ?transport=framed or ?protocol=compact stands behind the address"
)
CHECK_SERVER = (
    "check that HBase and its Thrift server (hbase thrift start) run, and that store.tables names "
    "its host and port"
)


def is_missing(error: BaseException) -> bool:
    """The table, or its namespace, does not exist."""
    return isinstance(error, IOError) and any(name in _first_line(error) for name in _MISSING)


def is_answer(error: BaseException) -> bool:
    """Somebody was there and said no, so the server itself is reached."""
    return isinstance(error, IOError | IllegalArgument)


def hopeless(error: BaseException) -> str | None:
    """The remedy, "" where only the error's own text helps; None: the same call may succeed."""
    if isinstance(error, IllegalArgument):
        # a scanner that the server has forgotten is opened again, where its page began
        return None if "scanner ID" in _first_line(error) else ""
    if isinstance(error, IOError):
        line = _first_line(error)
        return next((remedy for name, remedy in _HOPELESS.items() if name in line), None)
    if isinstance(error, FileNotFoundError | PermissionError):
        return "store.tables names it"
    if isinstance(_cause(error), ssl.SSLCertVerificationError):
        return "ssl_ca names who must have signed the server's certificate, for the host named here"
    if isinstance(error, TApplicationException):
        internal = error.type == TApplicationException.INTERNAL_ERROR
        return "the log of the Thrift server says more" if internal else _NOT_HBASE
    if isinstance(error, TProtocolException | ProtocolError):
        return _NOT_HBASE
    return None


def explain(error: BaseException) -> str:
    """One short line, without packages and stack traces."""
    line = _first_line(error)
    line = re.sub(r"\b(?:[a-z]\w*\.)+(?=[A-Z])", "", line)  # org.apache.hadoop.hbase.…
    line = line.partition(" in table '")[0]  # all attributes of the table would follow
    return line[:300] or type(error).__name__


def _cause(error: BaseException) -> BaseException:
    """The socket's own error, where thriftpy2 says only that it could not connect."""
    return (isinstance(error, TTransportException) and error.__context__) or error


def _first_line(error: BaseException) -> str:
    message = getattr(error, "message", None)
    if isinstance(message, bytes):
        message = message.decode("utf-8", "replace")
    text = message if isinstance(message, str) else str(error)
    if isinstance(error, TTransportException) and not text:
        text = "connection closed"
    if (cause := _cause(error)) is not error:
        text += f": {cause}"
    return text.partition("\n")[0].strip()
