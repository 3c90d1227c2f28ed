#pragma once
// One instruction of a pipeline program. Written in d9d's mnemonics: stage, kind, microbatch, as in
// `0F0 0SEND_F0 1RECV_F0 1I0 1W0 0F3|3B1`; `|` composes actions that overlap. No torch.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

enum class ActionKind : std::uint8_t {
  forward,          // F
  backward,         // B: full backward
  backward_input,   // I: gradients of the inputs only
  backward_weight,  // W: the weight gradients that an I deferred
  send_forward,     // SEND_F
  receive_forward,  // RECV_F
  send_backward,    // SEND_B
  receive_backward  // RECV_B
};

struct Action {
  ActionKind kind = ActionKind::forward;
  int stage = 0;
  int microbatch = 0;

  auto operator<=>(const Action&) const = default;
};

bool is_compute(ActionKind kind);
std::string_view symbol_of(ActionKind kind);  // "F", "SEND_F", ...
std::string to_string(const Action& action);
// "2F3" -> Action. Input error, with the text, when it is no action.
Action parse_action(std::string_view mnemonic);

// One step of a rank's program: a single action, or several composed with `|`.
struct Instruction {
  std::vector<Action> parts;
  bool operator==(const Instruction&) const = default;
};
std::string to_string(const Instruction& instruction);
Instruction parse_instruction(std::string_view text);

using RankProgram = std::vector<Instruction>;
// One program per pipeline rank, index = coordinate on the pp axis.
using Program = std::vector<RankProgram>;

}  // namespace d9d
