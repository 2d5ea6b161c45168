import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'

const Person = Type.Object({
  dn: Type.String(), username: Type.String(), full_name: Type.String(), email: Type.String(), groups: Type.Array(Type.String()), role: Type.String({ description: 'What they would be here.' }),
})

/** People whose passwords are kept elsewhere: a directory, and single sign-on. */
export const sso = contract({
  'POST /settings/test-ldap': {
    summary: 'Connects and binds to the directory with the saved settings, or with those of the body laid over them, and saves nothing.', access: 'admin', edition: 'The directory login',
    limit: { bucket: 'settings-test', perMinute: 30 },
    // checked as settings are, so that a fault names its dotted key; test_username is somebody to look up, without a password
    body: Type.Record(Type.String(), Type.Unknown()),
    reply: Type.Object({ ok: Type.Literal(true), message: Type.String(), server: Type.String(), connection: Type.String(), bound_as: Type.String(), person: Type.Optional(Person) }),
    fails: ['ldap_failed', 'unknown_setting', 'bad_setting'],
  },
})
