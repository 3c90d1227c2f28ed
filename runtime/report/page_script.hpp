#pragma once

namespace d9d::report {

// A script that shows the values under the pointer; the page shows everything without it too. It
// has no '<' and no '&', because a page must be valid XML.
const char* page_script();

}  // namespace d9d::report
