#pragma once
// The order in which a rank runs its program: `trainer.pipelining.order` of the job file.

namespace d9d {

enum class CursorOrder {
  static_,  // exactly the program
  dynamic   // runs another action while the next one is late; numbers stay the same (dynamic_cursor.hpp)
};

}  // namespace d9d
