#include "runtime/data/sample_value.hpp"

#include <boost/core/demangle.hpp>

#include "runtime/base/error.hpp"

namespace d9d {

void SampleValue::refuse(const std::type_info& wanted) const {
  throw Error(ErrorKind::input,
              fmt::format("a value of the sample is a {}, and a {} is asked for",
                          boost::core::demangle(type().name()), boost::core::demangle(wanted.name())));
}

}  // namespace d9d
