#pragma once

namespace d9d::report {

// The colours and the layout of a page and of its pictures, for light and dark. The same for every run.
const char* page_style();

}  // namespace d9d::report
