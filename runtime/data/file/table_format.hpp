#pragma once

#include <boost/describe/enum.hpp>

namespace d9d {

enum class TableFormat { parquet, arrow, csv, tsv };
BOOST_DESCRIBE_ENUM(TableFormat, parquet, arrow, csv, tsv)

}  // namespace d9d
