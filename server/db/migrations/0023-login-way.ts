import type { Migration } from '../migration.ts'

/** Sessions name the way they were opened by a word; phrases of releases before become one. Few rows: a moment. */
export const loginWay: Migration = {
  name: '0023-login-way',
  up: `
    update session set how = case
      when how like '%directory password%' then 'directory_password'
      when how like '%recovery code%' then 'password_and_recovery_code'
      when how like '%factor set up%' then 'password_and_new_factor'
      when how like '%code%' then 'password_and_code'
      when how = 'single sign-on' then 'single_sign_on'
      else 'password' end`,
}
