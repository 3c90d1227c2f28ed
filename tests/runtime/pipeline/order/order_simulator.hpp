#pragma once
// What a step costs when every rank decides by an ActionCursor what to run next: the simulator of
// `pipeline.order: dynamic`, and of uneven costs under either order. Actions that are composed run one after
// the other; a transfer to another rank runs beside the compute. Times have the unit of the costs.

#include <functional>

#include "runtime/pipeline/order/action_cursor.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {

struct OrderCosts {
  std::function<double(const Action&)> duration;  // >= 0
  double transfer = 0;                            // between stages of different ranks; 0 within a rank
};

// Deadlock: a bug error that says how many actions are left. `extra_activations`: of the dynamic order.
Simulation simulate_order(const PipelineProgram& program, CursorOrder order, const OrderCosts& costs,
                          int extra_activations = 0);

}  // namespace d9d
