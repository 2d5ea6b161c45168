/** What the policy does about something, from the hardest to nothing. */
export type Action = 'block' | 'review' | 'warn' | 'allow'
