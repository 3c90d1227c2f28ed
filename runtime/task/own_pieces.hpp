#pragma once
// All that the pieces of a plugin but its actors are registered with.

#include "runtime/task/own_data.hpp"      // IWYU pragma: export
#include "runtime/task/own_model.hpp"     // IWYU pragma: export
#include "runtime/task/own_task.hpp"      // IWYU pragma: export
#include "runtime/task/own_tracker.hpp"   // IWYU pragma: export
#include "runtime/task/own_training.hpp"  // IWYU pragma: export
