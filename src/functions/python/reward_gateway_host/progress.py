"""Where this process is in its chunk, in memory that the gateway reads when it suspects a hang."""

import mmap
import struct

IDLE = -1
_pair = struct.Struct("<ii")


class Progress:
    """Two integers: what is being done, and a beat that a blocked event loop does not give."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _pair.size)
        self._mark = IDLE
        self._beat = 0

    def loading(self, index: int) -> None:
        self._write(index * 2)

    def running(self, index: int) -> None:
        self._write(index * 2 + 1)

    def idle(self) -> None:
        self._write(IDLE)

    def beat(self) -> None:
        self._beat = (self._beat + 1) & 0x7FFFFFF
        self._write(self._mark)

    def _write(self, mark: int) -> None:
        self._mark = mark
        _pair.pack_into(self._memory, 0, mark, self._beat)
