/** How somebody proved who they are, as answers and the audit log name it. */
export const LOGIN_WAYS = [
  'password',
  'directory_password',
  'password_and_code',
  'password_and_recovery_code',
  'password_and_new_factor',
  'single_sign_on',
] as const
export type LoginWay = (typeof LOGIN_WAYS)[number]
