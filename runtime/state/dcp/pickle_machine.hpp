#pragma once
// The stack machine that a pickle is a program for. Internal to runtime/state/dcp.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/dcp/pickle.hpp"

namespace d9d {

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& where, const std::set<std::string>& allowed,
                std::deque<PickleValue>& values)
      : bytes_(bytes), where_(where), allowed_(allowed), values_(values) {}

  const PickleValue* run();

 private:
  // Each runs the opcode if it is one of its kind.
  bool push_constant(char opcode);
  bool push_text(char opcode);
  bool use_memo(char opcode);
  bool collect(char opcode);
  bool make(char opcode);

  // Numbers are little-endian.
  std::uint64_t number(std::size_t width);
  std::int64_t long_number(std::size_t width);
  std::string_view take(std::uint64_t count);
  std::string_view line();

  PickleValue* push(PickleValue value);
  PickleValue* pop();
  PickleValue* top();
  std::vector<const PickleValue*> pop_to_mark();
  void remember(std::uint64_t index, PickleValue* value) { memo_[index] = value; }
  void push_global(const std::string& module, const std::string& name);
  void add_pairs(PickleValue& into, const std::vector<const PickleValue*>& pairs);
  void add_items(PickleValue& into, const std::vector<const PickleValue*>& items);
  PickleValue* sequence_of(std::size_t count);
  [[noreturn]] void refuse(const std::string& why) const;

  const std::string_view bytes_;
  const std::string& where_;
  const std::set<std::string>& allowed_;
  std::deque<PickleValue>& values_;
  std::size_t at_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace d9d
