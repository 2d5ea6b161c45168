import type { Rule } from 'eslint'

/** A node with what the rule reads of it. */
interface Named {
  readonly type: string
  readonly name?: string
  readonly value?: unknown
}
const nameOf = (key: Named): unknown => (key.type === 'Identifier' ? key.name : key.value)

/**
 * Refuses every way to speak TLS without verifying who answers: `rejectUnauthorized` with anything but `true`, an own
 * `checkServerIdentity` (which is not even asked when verification is off, so it pins nothing), and the environment
 * variable of Node.
 */
export const verifiedTls: Rule.RuleModule = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      off: '{{name}} takes the verification of certificates away. Requests go through electron/core/pinned-client.ts; only electron/core/chain.ts reads a chain before it is trusted, and sends nothing.',
    },
  },
  create(context) {
    const check = (node: Rule.Node, key: Named, value: Named | undefined): void => {
      const name = nameOf(key)
      const isOff = name === 'rejectUnauthorized' && !(value?.type === 'Literal' && value.value === true)
      if (isOff || name === 'checkServerIdentity')
        context.report({ node, messageId: 'off', data: { name: String(name) } })
    }
    return {
      Property: node => check(node, node.key as Named, node.value as Named),
      AssignmentExpression: node => {
        if (node.left.type === 'MemberExpression') check(node, node.left.property as Named, node.right as Named)
      },
      Literal: node => {
        if (node.value === 'NODE_TLS_REJECT_UNAUTHORIZED')
          context.report({ node, messageId: 'off', data: { name: node.value } })
      },
      Identifier: node => {
        if (node.name === 'NODE_TLS_REJECT_UNAUTHORIZED')
          context.report({ node, messageId: 'off', data: { name: node.name } })
      },
    }
  },
}
