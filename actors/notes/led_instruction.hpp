#pragma once
// Converts a pipeline instruction to and from LeadAction, which the leading rank sends to the
// ranks that follow it.

#include "messages/pipeline.capnp.h"
#include "runtime/pipeline/action.hpp"

namespace d9d {

// Writes `instruction` into `lead`. Only compute actions are allowed, because transfers are not led.
void fill_parts(wire::LeadAction::Builder lead, const Instruction& instruction);
// Reads the instruction. Throws Error(bug) for an unknown kind.
Instruction instruction_of(wire::LeadAction::Reader lead);

}  // namespace d9d
