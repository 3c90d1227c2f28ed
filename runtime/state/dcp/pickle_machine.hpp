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
  using Action = void (PickleMachine::*)();
  struct Opcode {
    unsigned char code;
    Action action;
  };
  static const Opcode opcodes[];

  template <std::size_t bytes>
  void skip() {
    take(bytes);
  }
  template <PickleValue::Kind kind, std::int64_t integer = 0>
  void put();
  template <class Integer>
  void put_integer();
  void put_long() { push({.kind = PickleValue::Kind::integer, .integer = long_number(number(1))}); }
  void put_real();
  template <PickleValue::Kind kind, std::size_t width>
  void put_text();
  template <std::size_t width>
  void recall();
  template <std::size_t width>
  void remember();
  void memoize() { memo_[memo_.size()] = top(); }
  template <std::size_t count>
  void tuple_of();
  void mark() { marks_.push_back(stack_.size()); }
  void tuple() { push({.kind = PickleValue::Kind::sequence, .items = pop_to_mark()}); }
  void append();
  void appends() { add_items(pop_to_mark()); }
  void setitem();
  void setitems() { add_pairs(pop_to_mark()); }
  void global();
  void stack_global();
  void reduce();
  void build();
  void binpersid() { push({.kind = PickleValue::Kind::persistent, .items = {pop()}}); }

  // Numbers are little-endian.
  std::uint64_t number(std::size_t width);
  std::int64_t long_number(std::size_t width);
  std::string_view take(std::uint64_t count);
  std::string_view line();

  void push(PickleValue value);
  PickleValue* pop();
  PickleValue* top();
  std::vector<const PickleValue*> pop_to_mark();
  void push_global(const std::string& module, const std::string& name);
  void add_pairs(const std::vector<const PickleValue*>& pairs);
  void add_items(const std::vector<const PickleValue*>& items);
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
