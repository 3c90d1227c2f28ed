#pragma once
// Reports what was running when this process crashes: the actor, the message, and the library with the
// fault. Then the system's own action follows (a core dump, exit code 128 + signal).

#include <string>

namespace d9d {

// Loads a plugin, so that a report can name it when the fault is in it. Call it before the actors start.
void name_as_plugin(const std::string& path);

// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, unless a sanitizer
// has installed its own.
void report_crashes();

// Gives this thread a second stack for these handlers, because its own stack may have overflowed. The stack
// is kept until the thread ends.
void prepare_thread_for_crashes();
// From now on, exit() called by a plugin reports the calling actor instead of destroying
// objects that others use.
void report_exits();

}  // namespace d9d
