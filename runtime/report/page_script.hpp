#pragma once

namespace d9d::report {

// A read-out under the pointer; a page says everything without it. No '<' and no '&': a page is XML, too.
const char* page_script();

}  // namespace d9d::report
