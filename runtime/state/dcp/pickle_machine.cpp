#include "runtime/state/dcp/pickle_machine.hpp"

#include <bit>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using Kind = PickleValue::Kind;

// The opcodes that torch writes, by their names in Python's pickletools.
enum Opcode : unsigned char {
  mark = '(',
  stop = '.',
  none = 'N',
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  binfloat = 'G',
  binunicode = 'X',
  binbytes = 'B',
  short_binbytes = 'C',
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dict = '}',
  setitem = 's',
  setitems = 'u',
  tuple = 't',
  empty_tuple = ')',
  binget = 'h',
  long_binget = 'j',
  binput = 'q',
  long_binput = 'r',
  global = 'c',
  reduce = 'R',
  build = 'b',
  binpersid = 'Q',
  proto = 0x80,
  newobj = 0x81,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  binbytes8 = 0x8e,
  empty_set = 0x8f,
  additems = 0x90,
  frozenset = 0x91,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95
};

}  // namespace

const PickleValue* PickleMachine::run() {
  while (true) {
    const char opcode = take(1).front();
    if (opcode == Opcode::stop) return pop();
    if (!push_constant(opcode) && !push_text(opcode) && !use_memo(opcode) && !collect(opcode) &&
        !make(opcode))
      refuse(fmt::format("opcode 0x{:02x}, which torch does not write", static_cast<unsigned char>(opcode)));
  }
}

bool PickleMachine::push_constant(char opcode) {
  switch (static_cast<unsigned char>(opcode)) {
    case proto:
      take(1);
      return true;
    case frame:
      take(8);
      return true;
    case none:
      push({});
      return true;
    case newtrue:
      push({.kind = Kind::boolean, .integer = 1});
      return true;
    case newfalse:
      push({.kind = Kind::boolean});
      return true;
    case binint:
      push({.kind = Kind::integer, .integer = static_cast<std::int32_t>(number(4))});
      return true;
    case binint1:
      push({.kind = Kind::integer, .integer = static_cast<std::int64_t>(number(1))});
      return true;
    case binint2:
      push({.kind = Kind::integer, .integer = static_cast<std::int64_t>(number(2))});
      return true;
    case long1:
      push({.kind = Kind::integer, .integer = long_number(number(1))});
      return true;
    case binfloat: {
      std::uint64_t bits = 0;  // the only number that is big-endian
      for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
      push({.kind = Kind::real, .real = std::bit_cast<double>(bits)});
      return true;
    }
    default:
      return false;
  }
}

bool PickleMachine::push_text(char opcode) {
  std::size_t width = 0;
  Kind kind = Kind::text;
  switch (static_cast<unsigned char>(opcode)) {
    case short_binunicode:
      width = 1;
      break;
    case binunicode:
      width = 4;
      break;
    case binunicode8:
      width = 8;
      break;
    case short_binbytes:
      width = 1, kind = Kind::bytes;
      break;
    case binbytes:
      width = 4, kind = Kind::bytes;
      break;
    case binbytes8:
      width = 8, kind = Kind::bytes;
      break;
    default:
      return false;
  }
  push({.kind = kind, .text = std::string(take(number(width)))});
  return true;
}

bool PickleMachine::use_memo(char opcode) {
  const auto push_stored = [&](std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) refuse(fmt::format("it recalls value {}, which it did not store", index));
    stack_.push_back(found->second);
  };
  switch (static_cast<unsigned char>(opcode)) {
    case binget:
      push_stored(number(1));
      return true;
    case long_binget:
      push_stored(number(4));
      return true;
    case binput:
      remember(number(1), top());
      return true;
    case long_binput:
      remember(number(4), top());
      return true;
    case memoize:
      remember(memo_.size(), top());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::collect(char opcode) {
  switch (static_cast<unsigned char>(opcode)) {
    case mark:
      marks_.push_back(stack_.size());
      return true;
    case empty_list:
    case empty_tuple:
    case empty_set:
      push({.kind = Kind::sequence});
      return true;
    case empty_dict:
      push({.kind = Kind::dict});
      return true;
    case tuple1:
      sequence_of(1);
      return true;
    case tuple2:
      sequence_of(2);
      return true;
    case tuple3:
      sequence_of(3);
      return true;
    case tuple:
    case frozenset: {
      auto items = pop_to_mark();
      push({.kind = Kind::sequence, .items = std::move(items)});
      return true;
    }
    case append: {
      const PickleValue* item = pop();
      add_items(*top(), {item});
      return true;
    }
    case appends:
    case additems: {
      const auto items = pop_to_mark();
      add_items(*top(), items);
      return true;
    }
    case setitem: {
      const PickleValue* value = pop();
      const PickleValue* key = pop();
      add_pairs(*top(), {key, value});
      return true;
    }
    case setitems: {
      const auto pairs = pop_to_mark();
      add_pairs(*top(), pairs);
      return true;
    }
    default:
      return false;
  }
}

bool PickleMachine::make(char opcode) {
  switch (static_cast<unsigned char>(opcode)) {
    case global: {
      const std::string module(line());
      push_global(module, std::string(line()));
      return true;
    }
    case stack_global: {
      const PickleValue* name = pop();
      const PickleValue* module = pop();
      if (name->kind != Kind::text || module->kind != Kind::text) refuse("the name of a class is no text");
      push_global(module->text, name->text);
      return true;
    }
    case reduce:
    case newobj: {
      const PickleValue* arguments = pop();
      const PickleValue* callee = pop();
      if (callee->kind != Kind::global || arguments->kind != Kind::sequence)
        refuse("it calls what is no class and no function");
      push({.kind = Kind::object, .items = arguments->items, .callee = callee});
      return true;
    }
    case build: {
      const PickleValue* state = pop();
      if (top()->kind != Kind::object) refuse("it gives a state to what is no object");
      top()->state = state;
      return true;
    }
    case binpersid: {
      const PickleValue* id = pop();
      push({.kind = Kind::persistent, .items = {id}});
      return true;
    }
    default:
      return false;
  }
}

std::string_view PickleMachine::take(std::uint64_t count) {
  if (count > bytes_.size() - at_) refuse("it ends in the middle of a value; is the file cut?");
  at_ += count;
  return bytes_.substr(at_ - count, count);
}

std::uint64_t PickleMachine::number(std::size_t width) {
  std::uint64_t value = 0;
  const std::string_view bytes = take(width);
  for (std::size_t i = 0; i < width; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

std::int64_t PickleMachine::long_number(std::size_t width) {
  if (width > 8) refuse(fmt::format("an integer of {} bytes", width));
  std::uint64_t value = number(width);
  const bool negative = width > 0 && (value >> (8 * width - 1) & 1) != 0;
  if (negative && width < 8) value |= ~std::uint64_t{0} << (8 * width);
  return static_cast<std::int64_t>(value);
}

std::string_view PickleMachine::line() {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) refuse("it ends in the middle of a name; is the file cut?");
  const std::string_view text = take(end - at_);
  take(1);
  return text;
}

PickleValue* PickleMachine::push(PickleValue value) {
  stack_.push_back(&values_.emplace_back(std::move(value)));
  return stack_.back();
}

PickleValue* PickleMachine::top() {
  if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back()))
    refuse("it takes a value where there is none");
  return stack_.back();
}

PickleValue* PickleMachine::pop() {
  PickleValue* value = top();
  stack_.pop_back();
  return value;
}

std::vector<const PickleValue*> PickleMachine::pop_to_mark() {
  if (marks_.empty()) refuse("it collects values without having marked their begin");
  std::vector<const PickleValue*> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                                        stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return items;
}

void PickleMachine::push_global(const std::string& module, const std::string& name) {
  const std::string full = module + "." + name;
  if (!allowed_.contains(full))
    refuse(fmt::format(
        "it names {}, which is not among the classes that torch writes into a checkpoint, and which "
        "is neither imported nor called. Load the checkpoint with torch and save it with plain "
        "numbers, texts and tensors instead",
        full));
  push({.kind = Kind::global, .text = full});
}

void PickleMachine::add_pairs(PickleValue& into, const std::vector<const PickleValue*>& pairs) {
  if ((into.kind != Kind::dict && into.kind != Kind::object) || pairs.size() % 2 != 0)
    refuse("it puts keys and values into what is no dict");
  into.pairs.insert(into.pairs.end(), pairs.begin(), pairs.end());
}

void PickleMachine::add_items(PickleValue& into, const std::vector<const PickleValue*>& items) {
  if (into.kind != Kind::sequence) refuse("it appends to what is no list");
  into.items.insert(into.items.end(), items.begin(), items.end());
}

PickleValue* PickleMachine::sequence_of(std::size_t count) {
  std::vector<const PickleValue*> items(count);
  for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
  return push({.kind = Kind::sequence, .items = std::move(items)});
}

void PickleMachine::refuse(const std::string& why) const {
  throw Error(ErrorKind::input, fmt::format("{}: byte {} of the pickle: {}", where_, at_, why));
}

}  // namespace d9d
