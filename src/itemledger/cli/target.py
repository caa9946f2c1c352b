"""One file that a command writes: it appears whole when it is kept, or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import sys
from pathlib import Path

#: What a filesystem that cannot reserve space says; then there is just no reserve.
NO_RESERVE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EFBIG)
#: What a filesystem without locks says; there a part that is left over cannot be told from one being written.
NO_LOCK = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENOLCK)
CLAIM_ATTEMPTS = 10


class OutputError(Exception):
    """Something could not be written: where, and what the system said."""

    def __init__(self, where: str, error: OSError) -> None:
        super().__init__(f"cannot write {where}: {error.strerror or error}")
        self.where = where
        self.errno = error.errno


def part_of(path: Path) -> Path:
    """Where a file is written until it is whole; one name per file, so that it also says who is writing it."""
    final = Path(os.path.realpath(path))
    return final.parent / f".{final.name}.part"


def is_special(path: Path) -> bool:
    """Whether a name stands for a device, a pipe or a directory: nothing appears under it, nor has it neighbours."""
    return os.path.exists(path) and not os.path.isfile(path)  # a name that cannot be looked up is no fault yet


class Target:
    """Lines on their way into a file: they are written aside and renamed, so nobody ever reads half of it.

    The file aside is locked while it is written: of two processes that want one name the second is told so. A lock
    ends with its process, so what a killed run left is just written anew. What is no regular file (stdout,
    a pipe, a device) is written straight. ``private`` files are for the owner only.
    """

    def __init__(self, path: Path | None, *, force: bool = False, private: bool = False) -> None:
        self.path = path
        self.name = "stdout" if path is None else str(path)
        self._force = force
        self._mode = 0o600 if private else 0o666
        self._fd: int | None = None
        self._aside: Path | None = None
        self._written = 0
        if path is not None and path.is_file() and not force:
            raise FileExistsError(f"{path} exists already; choose another name, or pass --force to replace it")

    @property
    def written(self) -> int:
        return self._written

    @property
    def is_open(self) -> bool:
        return self._fd is not None

    def open(self, *, reserve: int = 0) -> None:
        """Ready to be written; ``reserve`` bytes of disk are set aside for what must not fail on a full disk."""
        try:
            if self.path is None:
                self._fd = os.dup(sys.stdout.fileno())
            elif is_special(self.path):
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            else:
                self._open_aside(self.path, reserve)
        except OSError as error:
            self.drop()
            raise OutputError(self.name, error) from None

    def write(self, data: bytes) -> None:
        """All of it, or none of it where the file can be cut back."""
        assert self._fd is not None
        before = self._written
        view = memoryview(data)
        try:
            while view:
                count = os.write(self._fd, view)
                view = view[count:]
                self._written += count
        except OSError as error:
            self.rewind(before)
            raise OutputError(self.name, error) from None

    def rewind(self, written: int) -> None:
        """Forgets what was written after the first ``written`` bytes; what went down a pipe is gone."""
        if self._aside is None or self._fd is None:
            return
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, written)
            os.lseek(self._fd, written, os.SEEK_SET)
            self._written = written

    def keep(self) -> None:
        """The file appears under its name, safe on disk."""
        assert self._fd is not None
        fd, self._fd = self._fd, None
        try:
            if self._aside is not None:
                os.ftruncate(fd, self._written)  # what was reserved and not used
                os.fsync(fd)
                self._publish(self._aside)
                self._aside = None
        except OSError as error:
            kept = f"; what there is stands in {self._set_apart(self._aside)}" if self._aside else ""
            raise OutputError(f"{self.name}{kept}", error) from None
        finally:
            with contextlib.suppress(OSError):
                os.close(fd)  # here the lock ends, when the file has its name

    def drop(self) -> None:
        """Nothing of it remains."""
        fd, self._fd = self._fd, None
        aside, self._aside = self._aside, None
        with contextlib.suppress(OSError):
            if aside is not None:
                aside.unlink()
        with contextlib.suppress(OSError):
            if fd is not None:
                os.close(fd)

    def _open_aside(self, path: Path, reserve: int) -> None:
        aside = part_of(path)
        self._final = Path(os.path.realpath(path))
        self._fd = _claimed(aside, self._mode)
        self._aside = aside
        if not self._force and self._final.exists():  # another run has finished it since its name was checked
            raise FileExistsError(errno.EEXIST, "it exists by now")
        if reserve and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(self._fd, 0, reserve)
            except OSError as error:
                if error.errno not in NO_RESERVE:
                    raise

    def _set_apart(self, aside: Path) -> Path:
        """Another name for what could not get its own: the next run would write its part anew."""
        apart = aside.with_name(f"{aside.stem}.{secrets.token_hex(4)}.part")
        with contextlib.suppress(OSError):
            os.rename(aside, apart)
            self._aside = apart
            return apart
        return aside

    def _publish(self, aside: Path) -> None:
        final = self._final
        if self._force:
            os.replace(aside, final)
            return
        # A link fails where a name is taken: a file that appeared during the run is not overwritten either.
        try:
            os.link(aside, final)
        except FileExistsError:
            raise
        except OSError:
            os.replace(aside, final)  # no hard links here
        else:
            aside.unlink()


def _claimed(aside: Path, mode: int) -> int:
    """A new and empty file that no other process is writing, locked; OSError when there is one."""
    for _ in range(CLAIM_ATTEMPTS):
        left_over = False
        try:
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            left_over = True
            try:
                fd = os.open(aside, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                continue  # its writer has just finished
            except OSError as error:
                raise OSError(error.errno, f"{aside} is in the way ({error.strerror}); remove it") from None
        try:
            locked = _lock(fd)
            # Between open and lock its writer may have finished and somebody else begun: then this one is nobody's.
            if _is_at(fd, aside):
                if not left_over:
                    return fd
                if not locked:
                    raise OSError(errno.EEXIST, f"{aside} is in the way; remove it if no other itemledger writes it")
                aside.unlink()  # never emptied: it may be linked to a finished file, or somebody else's to read
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    raise OSError(errno.EBUSY, f"{aside} keeps changing hands; name another file")


def _lock(fd: int) -> bool:
    """Whether there is a lock now; OSError when another process has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EBUSY, "another itemledger is writing it") from None
    except OSError as error:
        if error.errno not in NO_LOCK:
            raise
        return False
    return True


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False
