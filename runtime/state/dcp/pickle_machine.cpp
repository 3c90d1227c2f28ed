#include <array>
#include <bit>
#include <map>

#include "runtime/base/error.hpp"
#include "runtime/state/dcp/pickle.hpp"

namespace d9d {
namespace {

using Kind = PickleValue::Kind;

// The stack machine that a pickle is a program for.
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
  template <Kind kind, std::int64_t integer = 0>
  void put() {
    push({.kind = kind, .integer = integer});
  }
  template <class Integer>
  void put_integer() {
    push({.kind = Kind::integer, .integer = static_cast<Integer>(number(sizeof(Integer)))});
  }
  void put_long() { push({.kind = Kind::integer, .integer = long_number(number(1))}); }
  void put_real() {
    std::uint64_t bits = 0;  // the only number that is big-endian
    for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    push({.kind = Kind::real, .real = std::bit_cast<double>(bits)});
  }
  template <Kind kind, std::size_t width>
  void put_text() {
    push({.kind = kind, .text = std::string(take(number(width)))});
  }
  template <std::size_t width>
  void recall() {
    const std::uint64_t index = number(width);
    const auto found = memo_.find(index);
    if (found == memo_.end()) refuse(fmt::format("it recalls value {}, which it did not store", index));
    stack_.push_back(found->second);
  }
  template <std::size_t width>
  void remember() {
    const std::uint64_t index = number(width);
    memo_[index] = top();
  }
  void memoize() { memo_[memo_.size()] = top(); }
  template <std::size_t count>
  void tuple_of() {
    std::vector<const PickleValue*> items(count);
    for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
    push({.kind = Kind::sequence, .items = std::move(items)});
  }
  void mark() { marks_.push_back(stack_.size()); }
  void tuple() { push({.kind = Kind::sequence, .items = pop_to_mark()}); }
  void append() {
    const PickleValue* item = pop();
    add_items({item});
  }
  void appends() { add_items(pop_to_mark()); }
  void setitem() {
    const PickleValue* value = pop();
    const PickleValue* key = pop();
    add_pairs({key, value});
  }
  void setitems() { add_pairs(pop_to_mark()); }
  void global() {
    const std::string module(line());
    push_global(module, std::string(line()));
  }
  void stack_global() {
    const PickleValue* name = pop();
    const PickleValue* module = pop();
    if (name->kind != Kind::text || module->kind != Kind::text) refuse("the name of a class is no text");
    push_global(module->text, name->text);
  }
  void reduce() {
    const PickleValue* arguments = pop();
    const PickleValue* callee = pop();
    if (callee->kind != Kind::global || arguments->kind != Kind::sequence)
      refuse("it calls what is no class and no function");
    push({.kind = Kind::object, .items = arguments->items, .callee = callee});
  }
  void build() {
    const PickleValue* state = pop();
    if (top()->kind != Kind::object) refuse("it gives a state to what is no object");
    top()->state = state;
  }
  void binpersid() { push({.kind = Kind::persistent, .items = {pop()}}); }

  // Numbers are little-endian.
  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    const std::string_view bytes = take(width);
    for (std::size_t i = 0; i < width; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return value;
  }
  std::int64_t long_number(std::size_t width) {
    if (width > 8) refuse(fmt::format("an integer of {} bytes", width));
    std::uint64_t value = number(width);
    const bool negative = width > 0 && (value >> (8 * width - 1) & 1) != 0;
    if (negative && width < 8) value |= ~std::uint64_t{0} << (8 * width);
    return static_cast<std::int64_t>(value);
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) refuse("it ends in the middle of a value; is the file cut?");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("it ends in the middle of a name; is the file cut?");
    const std::string_view text = take(end - at_);
    take(1);
    return text;
  }

  void push(PickleValue value) { stack_.push_back(&values_.emplace_back(std::move(value))); }
  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }
  PickleValue* top() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back()))
      refuse("it takes a value where there is none");
    return stack_.back();
  }
  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) refuse("it collects values without having marked their begin");
    std::vector<const PickleValue*> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                                          stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_global(const std::string& module, const std::string& name) {
    const std::string full = module + "." + name;
    if (!allowed_.contains(full))
      refuse(fmt::format(
          "it names {}, which is not among the classes that torch writes into a checkpoint, and which "
          "is neither imported nor called. Load the checkpoint with torch and save it with plain "
          "numbers, texts and tensors instead",
          full));
    push({.kind = Kind::global, .text = full});
  }
  void add_pairs(const std::vector<const PickleValue*>& pairs) {
    PickleValue& into = *top();
    if ((into.kind != Kind::dict && into.kind != Kind::object) || pairs.size() % 2 != 0)
      refuse("it puts keys and values into what is no dict");
    into.pairs.insert(into.pairs.end(), pairs.begin(), pairs.end());
  }
  void add_items(const std::vector<const PickleValue*>& items) {
    PickleValue& into = *top();
    if (into.kind != Kind::sequence) refuse("it appends to what is no list");
    into.items.insert(into.items.end(), items.begin(), items.end());
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::input, fmt::format("{}: byte {} of the pickle: {}", where_, at_, why));
  }

  const std::string_view bytes_;
  const std::string& where_;
  const std::set<std::string>& allowed_;
  std::deque<PickleValue>& values_;
  std::size_t at_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, PickleValue*> memo_;
};

// The opcodes that torch writes; pickletools of Python says what each is for.
constexpr PickleMachine::Opcode PickleMachine::opcodes[] = {
    {0x80, &PickleMachine::skip<1>},  // the protocol
    {0x95, &PickleMachine::skip<8>},  // the length of a frame
    {'N', &PickleMachine::put<Kind::none>},
    {0x88, &PickleMachine::put<Kind::boolean, 1>},
    {0x89, &PickleMachine::put<Kind::boolean, 0>},
    {'J', &PickleMachine::put_integer<std::int32_t>},
    {'K', &PickleMachine::put_integer<std::uint8_t>},
    {'M', &PickleMachine::put_integer<std::uint16_t>},
    {0x8a, &PickleMachine::put_long},
    {'G', &PickleMachine::put_real},
    {0x8c, &PickleMachine::put_text<Kind::text, 1>},
    {'X', &PickleMachine::put_text<Kind::text, 4>},
    {0x8d, &PickleMachine::put_text<Kind::text, 8>},
    {'C', &PickleMachine::put_text<Kind::bytes, 1>},
    {'B', &PickleMachine::put_text<Kind::bytes, 4>},
    {0x8e, &PickleMachine::put_text<Kind::bytes, 8>},
    {'h', &PickleMachine::recall<1>},
    {'j', &PickleMachine::recall<4>},
    {'q', &PickleMachine::remember<1>},
    {'r', &PickleMachine::remember<4>},
    {0x94, &PickleMachine::memoize},
    {']', &PickleMachine::put<Kind::sequence>},
    {')', &PickleMachine::put<Kind::sequence>},
    {0x8f, &PickleMachine::put<Kind::sequence>},
    {'}', &PickleMachine::put<Kind::dict>},
    {0x85, &PickleMachine::tuple_of<1>},
    {0x86, &PickleMachine::tuple_of<2>},
    {0x87, &PickleMachine::tuple_of<3>},
    {'(', &PickleMachine::mark},
    {'t', &PickleMachine::tuple},
    {0x91, &PickleMachine::tuple},  // frozenset
    {'a', &PickleMachine::append},
    {'e', &PickleMachine::appends},
    {0x90, &PickleMachine::appends},  // additems, of a set
    {'s', &PickleMachine::setitem},
    {'u', &PickleMachine::setitems},
    {'c', &PickleMachine::global},
    {0x93, &PickleMachine::stack_global},
    {'R', &PickleMachine::reduce},
    {0x81, &PickleMachine::reduce},  // newobj
    {'b', &PickleMachine::build},
    {'Q', &PickleMachine::binpersid},
};

const PickleValue* PickleMachine::run() {
  static constexpr auto actions = [] {
    std::array<Action, 256> by_code{};
    for (const Opcode& opcode : opcodes) by_code[opcode.code] = opcode.action;
    return by_code;
  }();
  while (true) {
    const auto code = static_cast<unsigned char>(take(1).front());
    if (code == '.') return pop();
    if (actions[code] == nullptr) refuse(fmt::format("opcode 0x{:02x}, which torch does not write", code));
    (this->*actions[code])();
  }
}

}  // namespace

Pickle::Pickle(std::string_view bytes, std::string where, const std::set<std::string>& allowed)
    : where_(std::move(where)), root_(PickleMachine(bytes, where_, allowed, values_).run()) {}

}  // namespace d9d
