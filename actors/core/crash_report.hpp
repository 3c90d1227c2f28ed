#pragma once
// A crash of this process says what was running: the actor, the message, and the library the
// fault is in. Then the system's own action follows (a core dump, exit code 128 + signal).

#include <string>

namespace d9d {

// Loads a library whose faults are its author's: a report names it. Before the actors start.
void name_as_plugin(const std::string& path);

// Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, unless a sanitizer has installed some.
void report_crashes();

// A stack for the handlers of this thread: the thread's
// stack may be what overflowed. Kept until the thread ends.
void prepare_thread_for_crashes();
// From now on a plugin's exit() names the actor that calls it, instead of tearing down what others use.
void report_exits();

}  // namespace d9d
