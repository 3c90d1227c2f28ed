#include "runtime/pipeline/action.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Longer symbols first, so that the parser never stops at a prefix.
constexpr std::array<std::pair<ActionKind, std::string_view>, 8> action_symbols{{
    {ActionKind::send_forward, "SEND_F"},
    {ActionKind::receive_forward, "RECV_F"},
    {ActionKind::send_backward, "SEND_B"},
    {ActionKind::receive_backward, "RECV_B"},
    {ActionKind::forward, "F"},
    {ActionKind::backward, "B"},
    {ActionKind::backward_input, "I"},
    {ActionKind::backward_weight, "W"},
}};

// Removes a decimal number from the front of the text. Returns false when there is none.
bool eat_number(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string_view symbol_of(ActionKind kind) {
  for (const auto& [known, symbol] : action_symbols) {
    if (known == kind) return symbol;
  }
  fail(ErrorKind::bug, fmt::format("no symbol for action kind {}", static_cast<int>(kind)), __FILE__,
       __LINE__);
}

bool is_compute(ActionKind kind) {
  return kind <= ActionKind::backward_weight;
}

std::string to_string(const Action& action) {
  return fmt::format("{}{}{}", action.stage, symbol_of(action.kind), action.microbatch);
}

Action parse_action(std::string_view mnemonic) {
  Action action;
  std::string_view rest = mnemonic;
  bool valid = eat_number(rest, action.stage);
  bool known = false;
  for (const auto& [kind, symbol] : action_symbols) {
    if (!rest.starts_with(symbol)) continue;
    action.kind = kind;
    rest.remove_prefix(symbol.size());
    known = true;
    break;
  }
  valid = valid && known && eat_number(rest, action.microbatch) && rest.empty();
  D9D_REQUIRE(valid,
              "\"{}\" is no pipeline action; expected <stage><kind><microbatch> such as 2F3, kinds: F B I W "
              "SEND_F RECV_F SEND_B RECV_B",
              mnemonic);
  return action;
}

std::string to_string(const Instruction& instruction) {
  std::string text;
  for (const Action& part : instruction.parts) text += (text.empty() ? "" : "|") + to_string(part);
  return text;
}

Instruction parse_instruction(std::string_view text) {
  std::string_view rest = text;
  if (rest.size() > 2 && rest.front() == '(' && rest.back() == ')') rest = rest.substr(1, rest.size() - 2);
  Instruction instruction;
  for (;;) {
    const std::size_t bar = rest.find('|');
    instruction.parts.push_back(parse_action(rest.substr(0, bar)));
    if (bar == std::string_view::npos) return instruction;
    rest.remove_prefix(bar + 1);
  }
}

}  // namespace d9d
