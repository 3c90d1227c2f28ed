#pragma once
// A pipeline instruction as it travels from the rank that leads to those that follow its order.

#include "messages/pipeline.capnp.h"
#include "runtime/pipeline/action.hpp"

namespace d9d {

// Only for compute actions: transfers are not led.
void fill_parts(wire::LeadAction::Builder lead, const Instruction& instruction);
// Throws Error(bug) for a kind that is none of them.
Instruction instruction_of(wire::LeadAction::Reader lead);

}  // namespace d9d
