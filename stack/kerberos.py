"""A KDC of the stack's own: a realm on loopback, a key for the daemons, and one for its user.

All daemons are called <service>/localhost, whatever their address, and HDFS knows all of them by
the name of the account that runs the stack. The commands are those of MIT (Debian: krb5-kdc,
krb5-admin-server, krb5-user); nothing outside the folder of the stack is read or written.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from settings import HERE, Stack, StackError

REALM = "WEIBO.STACK"
SERVICES = ("hdfs", "yarn", "mapred", "hbase", "HTTP")
_SBIN = ("/usr/sbin", "/usr/local/sbin")


def user(stack: Stack) -> str:
    """The principal of who uses the stack."""
    return f"{stack.user}@{REALM}"


def user_keytab(stack: Stack) -> Path:
    return stack.secrets / "user.keytab"


def daemons_keytab(stack: Stack) -> Path:
    return stack.secrets / "daemons.keytab"


def properties(stack: Stack) -> str:
    """What the site files of Hadoop and HBase say more; nothing without Kerberos."""
    return (HERE / "kerberos.xml").read_text() if stack.kerberos else ""


def jvm_flags(stack: Stack) -> str:
    if not stack.kerberos:
        return ""
    return (
        f"-Djava.security.krb5.conf={stack.conf}/kerberos/krb5.conf "
        f"-Djdk.net.hosts.file={stack.conf}/hosts"
    )


def environment(stack: Stack) -> dict[str, str]:
    """For the commands of MIT, and libraries below them."""
    return {
        "KRB5_CONFIG": str(stack.conf / "kerberos" / "krb5.conf"),
        "KRB5_KDC_PROFILE": str(stack.conf / "kerberos" / "kdc.conf"),
    }


def addresses(stack: Stack) -> dict[str, str]:
    """What a user of the stack needs for a ticket, and where that lies; {} without Kerberos."""
    if not stack.kerberos:
        return {}
    return {
        "STACK_KRB5_CONFIG": environment(stack)["KRB5_CONFIG"],
        "STACK_KRB5_TICKETS": f"FILE:{stack.run}/user.krb5cc",
        "STACK_PRINCIPAL": user(stack),
        "STACK_KEYTAB": str(user_keytab(stack)),
    }


def probing(stack: Stack) -> dict[str, str]:
    """For a program that asks the stack something, in the name of its user, without kinit."""
    return {
        **environment(stack),
        "PATH": os.environ.get("PATH", ""),
        "KRB5_CLIENT_KTNAME": str(user_keytab(stack)),
        "KRB5CCNAME": f"FILE:{stack.run}/probe.krb5cc",
    }


def command(stack: Stack) -> list[str]:
    return [_program("krb5kdc"), "-n", "-P", str(stack.run / "krb5kdc.pid")]


def preparation(stack: Stack) -> Iterator[list[str]]:
    """The commands that make the realm and its keys, once."""
    if (stack.data / "kdc" / "made").exists():
        return
    shutil.rmtree(stack.data / "kdc", ignore_errors=True)
    (stack.data / "kdc").mkdir(mode=0o700)
    for keytab in (daemons_keytab(stack), user_keytab(stack)):
        keytab.unlink(missing_ok=True)
    yield [_program("kdb5_util"), "create", "-s", "-r", REALM, "-P", secrets.token_urlsafe(18)]
    keys = {f"{name}/localhost@{REALM}": daemons_keytab(stack) for name in SERVICES}
    for name, keytab in {**keys, user(stack): user_keytab(stack)}.items():
        yield [_program("kadmin.local"), "-r", REALM, "addprinc", "-randkey", name]
        yield [_program("kadmin.local"), "-r", REALM, "ktadd", "-k", str(keytab), name]
    (stack.data / "kdc" / "made").touch()


def _program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_SBIN]))
    if found is None:
        raise StackError(
            f"there is no {name} here: install MIT Kerberos "
            "(Debian: krb5-kdc, krb5-admin-server, krb5-user)"
        )
    return found
