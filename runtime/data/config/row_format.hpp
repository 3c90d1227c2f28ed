#pragma once
// Files whose rows have named columns.

#include <boost/describe/enum.hpp>

namespace d9d {

enum class RowFormat { jsonl, parquet, arrow, json, csv, tsv };
BOOST_DESCRIBE_ENUM(RowFormat, jsonl, parquet, arrow, json, csv, tsv)

}  // namespace d9d
