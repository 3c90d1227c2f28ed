#include "actors/job/run/findings.hpp"

#include <new>

namespace d9d {
namespace {

// Cuts off the backtrace of LibTorch's exceptions, which does not help a user.
std::string without_backtrace(const std::string& what) {
  return what.substr(0, what.find("\nException raised from"));
}

}  // namespace

bool Findings::attempt(const std::string& part, const std::function<void()>& step) {
  try {
    step();
    return true;
  } catch (const Error& error) {
    add(error.kind(), error.where().empty() ? part : "", error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    add(ErrorKind::environment, part, without_backtrace(error.what()));
  } catch (...) {
    add(ErrorKind::environment, part, "an exception of unknown type");
  }
  return false;
}

void Findings::add(ErrorKind kind, const std::string& part, const std::string& what) {
  // A bug counts more than what the user can mend, and that more than what the machine lacks.
  const auto weight = [](ErrorKind which) {
    return which == ErrorKind::bug ? 2 : which == ErrorKind::input ? 1 : 0;
  };
  if (weight(kind) > weight(kind_)) kind_ = kind;
  if (!said_.insert(what).second) return;
  if (!text_.empty()) text_ += "\n";
  text_ += part.empty() ? what : part + ": " + what;
}

void Findings::throw_if_any() const {
  if (!said_.empty()) throw Error(kind_, text_);
}

}  // namespace d9d
