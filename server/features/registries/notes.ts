/** Beside the answer to a change. */
export const SECRET_DROPPED =
  'The secret was given for another server or user and is gone: requests go without one until it is given anew.'
