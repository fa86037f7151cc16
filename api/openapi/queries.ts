/** Query parameters of lists, and the headers of their responses. */
export {
  audienceQuery,
  deliveryQuery,
  dryRunQuery,
  importQuery,
  pageQuery,
} from '../../schemas/http-queries.ts';

export const rejectsLink = {
  Link: {
    description: 'The URL of the rejected rows, `rel="rejects"`, if there are any',
    schema: { type: 'string' as const },
  },
};
export const link = {
  Link: {
    description: 'The URL of the next page, `rel="next"`; absent on the last page',
    schema: { type: 'string' as const },
  },
};
