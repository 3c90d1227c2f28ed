# d9d_embed_text(NAME FILE HEADER): a header in the folder of generated ones with `inline constexpr const char* NAME`,
# the text of FILE.
function(d9d_embed_text name file header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${header}
       CONTENT "#pragma once\ninline constexpr const char* @name@ = R\"text(@text@)text\";\n" @ONLY)
endfunction()
