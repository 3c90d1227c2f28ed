#pragma once
// Reads Python's pickles (protocols 2 to 5) as plain data. Nothing is imported and nothing is called: what a pickle
// would call becomes an `object` that says which function or class it names, and with which arguments. Names that
// are not on the list are an input error, and so is each opcode that torch does not write. No torch.

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

struct PickleValue {
  enum class Kind { none, boolean, integer, real, text, bytes, sequence, dict, global, object, persistent };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  // also of a boolean
  double real = 0;
  std::string text;                       // of a text, of bytes, and of a global "module.name"
  std::vector<const PickleValue*> items;  // of a sequence; arguments of an object; what a persistent id is
  std::vector<const PickleValue*> pairs;  // key, value, key, value, ... of a dict, or put into an object
  const PickleValue* callee = nullptr;    // of an object
  const PickleValue* state = nullptr;     // what an object was built with; null: nothing

  bool is(const char* global) const { return kind == Kind::global && text == global; }
  bool is_object_of(const char* global) const { return kind == Kind::object && callee->is(global); }
};

// Owns the values of one pickle.
class Pickle {
 public:
  // `where` begins the text of errors; `allowed` has names such as "collections.OrderedDict".
  Pickle(std::string_view bytes, std::string where, const std::set<std::string>& allowed);

  Pickle(const Pickle&) = delete;  // values point to one another
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return *root_; }
  // The value, or an input error that names `what` when it is of another kind.
  std::int64_t integer(const PickleValue& value, std::string_view what) const;
  const std::string& text(const PickleValue& value, std::string_view what) const;
  // Of a list, a tuple, or a torch.Size.
  const std::vector<const PickleValue*>& items(const PickleValue& value, std::string_view what) const;
  std::vector<std::int64_t> integers(const PickleValue& value, std::string_view what) const;
  // The member of an object that has a dict as its state; null when there is none of that name.
  const PickleValue* member_if(const PickleValue& object, std::string_view name) const;
  const PickleValue& member(const PickleValue& object, std::string_view name) const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string where_;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

}  // namespace d9d
