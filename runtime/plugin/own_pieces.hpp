#pragma once
// All that the pieces of a plugin but its actors are registered with.

#include "runtime/plugin/own_data.hpp"      // IWYU pragma: export
#include "runtime/plugin/own_model.hpp"     // IWYU pragma: export
#include "runtime/plugin/own_task.hpp"      // IWYU pragma: export
#include "runtime/plugin/own_tracker.hpp"   // IWYU pragma: export
#include "runtime/plugin/own_training.hpp"  // IWYU pragma: export
