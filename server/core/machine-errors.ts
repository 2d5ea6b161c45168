import { MEDIUM_ERRORS } from './medium-errors.ts'

/** What is refused about the machine that the service runs on. */
export const MACHINE_ERRORS = {
  ...MEDIUM_ERRORS,
  machine_absent: [
    409,
    'This is not the appliance, so the service has no say over its machine. Change it with the tools of its operating system.',
  ],
  machine_silent: [
    503,
    "The machine's own program gave no answer: {why}. Look here again whether a change is in force before you ask for it again. On the machine, journalctl -u gatehouse-machine says more.",
  ],
  machine_refused: [409, '{why}'],
  machine_not_understood: [
    502,
    "The machine's own program answered {verb} in a way that this release does not understand ({where}): the two are of different releases. Install the update again, or go back to the release of before.",
  ],
  machine_file_name: [
    422,
    'The file name {file_name} is not taken: an update file has letters, digits, `_`, `.`, `+`, `~` and `-` in its name, and first a letter or digit. Give it the name that its maker gave it.',
  ],
} as const
