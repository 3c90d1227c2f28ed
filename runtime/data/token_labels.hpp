#pragma once

namespace d9d {

// What the label of an input is.
//   next  the token after it: the last token of a document is a label alone, and no input
//   own   the token itself, where it counts: every token of a document is an input. For tasks that do not learn
//         the next token, but read what the model makes of each one
enum class TokenLabels { next, own };

}  // namespace d9d
