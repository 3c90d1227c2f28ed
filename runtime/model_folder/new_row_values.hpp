#pragma once
// What the rows of new tokens begin as.

#include <boost/describe/enum.hpp>

namespace d9d {

enum class NewRowValues { mean, drawn };
BOOST_DESCRIBE_ENUM(NewRowValues, mean, drawn)

}  // namespace d9d
