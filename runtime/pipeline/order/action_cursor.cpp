#include "runtime/pipeline/order/action_cursor.hpp"

#include "runtime/pipeline/order/dynamic_cursor.hpp"
#include "runtime/pipeline/order/program_cursor.hpp"

namespace d9d {

std::unique_ptr<ActionCursor> make_cursor(CursorOrder order, int rank, int extra_activations) {
  if (order == CursorOrder::dynamic) return std::make_unique<DynamicCursor>(rank, extra_activations);
  return std::make_unique<ProgramCursor>(rank);
}

}  // namespace d9d
