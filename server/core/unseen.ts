/** For patterns: control characters, and those that hide or turn round what is read in lists and logs. */
export const UNSEEN = '\\u0000-\\u001f\\u007f-\\u009f\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff'
