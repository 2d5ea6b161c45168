/** What can go wrong with sticks in the machine: rows of `ERRORS`. */
export const MEDIUM_ERRORS = {
  backup_on_medium: [409, '{file_name} lies on a stick, which is only read. Delete it on another computer.'],
  medium_not_found: [404, 'No stick with the id {medium} is in the machine. Plug it in, and wait until it is listed.'],
  medium_file_not_found: [404, '{path} is not among the files of use that were found on the stick {medium}.'],
  medium_unreadable: [
    502,
    '{path} on the stick {medium} cannot be read any more: the stick was pulled out, or it is damaged. Nothing of it was taken in; plug it in again.',
  ],
  medium_forbidden: [
    409,
    '{path} on the stick {medium} may be read by its owner alone. On another computer, allow others to read it with chmod a+r.',
  ],
} as const
