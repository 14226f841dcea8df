# Callers of a trace that `tracewright gdbserver` replays. The server has them from the trace: neither
# the stack nor unwind tables are read. Other registers than pc are not known in any frame.
import gdb
import gdb.unwinder

# Where the stack pointers of callers are, which are for identifying frames only.
BASE = 0x7AD00000


class Frame:
    """A line of `monitor frames`: address, number of callers, begin of the function, its name."""

    def __init__(self, line):
        pc, callers, start = line.split()[:3]
        self.pc = int(pc, 16)
        # Callers that were found later have negative numbers.
        self.sp = BASE - 16 * int(callers)
        self.start = int(start, 16)


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class Unwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("tracewright")
        self.frames = []

    def __call__(self, pending):
        try:
            pc = pending.read_register("pc")
            at = self.index(pending, int(pc))
        except gdb.error:
            return None
        if at is None:
            return None

        def value(number):
            return gdb.Value(number).cast(pc.type)

        # At a pc of 0 the stack ends.
        start, sp = 0, self.frames[-1].sp + 16
        if at < len(self.frames):
            start, sp = self.frames[at].start, self.frames[at].sp
        info = pending.create_unwind_info(FrameId(value(sp), value(start)))
        callers = self.frames[at + 1 :]
        info.add_saved_register("pc", value(callers[0].pc if callers else 0))
        info.add_saved_register("sp", value(callers[0].sp if callers else sp + 16))
        try:
            # All code of the M profile is T32: of the status, only this bit is known.
            status = pending.read_register("xpsr").type
            info.add_saved_register("xpsr", gdb.Value(1 << 24).cast(status))
        except ValueError:
            pass
        return info

    def index(self, pending, pc):
        """The position of a frame among those of the thread."""
        try:
            sp = int(pending.read_register("sp"))
        except gdb.error:
            sp = None
        if self.frames and (sp, pc) == (self.frames[-1].sp + 16, 0):
            return len(self.frames)
        for at, frame in enumerate(self.frames):
            if at > 0 and (frame.sp, frame.pc) == (sp, pc):
                return at
        thread = gdb.selected_thread()
        if thread is None:
            return None
        text = gdb.execute("monitor frames %d" % max(thread.ptid[1:]), to_string=True)
        self.frames = []
        for line in text.splitlines():
            # gdb would take the address for a return address, and look at the one before.
            if not line.startswith("0x") or line.endswith("(interrupted)"):
                break
            self.frames.append(Frame(line))
        return 0 if self.frames and self.frames[0].pc == pc else None


gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
gdb.invalidate_cached_frames()
