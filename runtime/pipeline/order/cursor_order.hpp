#pragma once
// Whether a rank runs its program as it stands: `trainer.pipelining.order` of the job file.

namespace d9d {

enum class CursorOrder {
  static_,  // exactly the program
  dynamic   // another action while the next one is late, with the same numbers (dynamic_cursor.hpp)
};

}  // namespace d9d
