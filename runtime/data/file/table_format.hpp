#pragma once

namespace d9d {

enum class TableFormat { parquet, arrow, csv, tsv };

}  // namespace d9d
